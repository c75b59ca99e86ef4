package engine

// WithHeap is f with less memory, so that a test does not have to fill it all.
func (f Flow) WithHeap(bytes int) Flow {
	f.heapBytes = bytes
	return f
}
