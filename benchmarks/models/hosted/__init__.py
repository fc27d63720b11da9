"""What the same load costs on the services that people use instead."""
