"""Campaigns as pages: what a folder tells, gathered and rendered to one HTML file."""
