"""The services of AWS around the functions of a schedule, and what goes wrong in them."""
