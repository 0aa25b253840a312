"""Every word the models are told. Constants and pure functions: equal input gives equal bytes."""
