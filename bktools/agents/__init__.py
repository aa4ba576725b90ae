"""An MCP server over the public functions: an assistant prepares a month with it, and cannot book."""
