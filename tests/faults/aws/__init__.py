"""The AWS services around the functions of a schedule, with their faults."""
