"""What `gompy run --check` finds: the runtime's log read, variables named, findings told."""
