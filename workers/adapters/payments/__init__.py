"""Links under which contacts pay: one module per provider."""
