"""Reports for other readers: the page for a browser, the schema for programs."""
