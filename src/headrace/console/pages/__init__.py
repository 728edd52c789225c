"""The pages, one module each; `headrace.console.page` finds them."""
