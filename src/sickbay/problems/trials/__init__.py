"""Problems of trials in a hyperparameter search."""
