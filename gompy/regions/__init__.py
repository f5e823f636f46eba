"""What is known of each region when it is compiled: clauses, arguments, types and text, as JSON (docs/regions.md)."""
