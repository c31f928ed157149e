"""What an operator types. Data goes to stdout, everything else to stderr."""
