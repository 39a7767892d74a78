"""The rules of published papers, a folder for each: problems of their own, and rules for ours."""
