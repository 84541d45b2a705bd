"""Answers out of replies: letters, numbers, BIG-Bench Hard answers, boxes, JSON values, thinking traces."""
