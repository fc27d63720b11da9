"""The only package that speaks to SQS: events on their way to the writer, and refused messages on their way out."""
