"""What files were before they were changed, kept for a person who takes turns back or brings them again."""
