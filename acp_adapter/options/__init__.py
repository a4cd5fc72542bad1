"""What a person can choose for a session in the editor: ACP's config options, and its modes."""
