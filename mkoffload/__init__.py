"""mkoffload: one module per offload target."""
