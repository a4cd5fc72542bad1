"""What is remembered over sessions: two small files, and one provider of the user's choice beside them."""
