"""Whether sickbay finds faults that were injected on purpose."""
