"""Models behind one function, `stream(request) -> ModelStream`. A file per wire protocol; libraries load lazily."""
