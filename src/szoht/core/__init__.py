"""What everything is made of: objectives, queries, directions, states, random addresses."""
