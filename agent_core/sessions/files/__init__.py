"""What files were before they were changed: contents, rows about them, and putting them back."""
