"""Problems that exist only as rules of published papers, a folder for each paper."""
