package engine

func (r *runner) rejections() {}
