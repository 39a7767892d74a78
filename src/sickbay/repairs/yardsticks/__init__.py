"""What a repair holds scores against: the best constant answer, and a quick reference."""
