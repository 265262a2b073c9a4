//! Coordinator, agents, and the messages between them.
