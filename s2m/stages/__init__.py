"""Resumable attempts at the stages of a run: train, distill, evaluate, and their order.

May import `learning` and what lies below it.
"""
