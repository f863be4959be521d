"""More than one process, and more than one machine: workers that do a campaign's steps in its place."""
