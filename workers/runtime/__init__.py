"""What every process of the product stands on: queue broker, logging, metrics, health, embedded servers."""
