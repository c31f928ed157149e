"""How the world watches: the metrics' text, their reference page and the dashboards."""
