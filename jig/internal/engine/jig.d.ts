// filled in soon
