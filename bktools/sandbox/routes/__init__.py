"""The six operations, one file per noun. A handler takes the request, the state and the caller."""
