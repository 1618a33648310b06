"""How the progress database came to its present shape, one file a step."""
