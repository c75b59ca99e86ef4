package flowpkg

import "os"

// Files counts what would be captured below dir, at most so many, without reading
// it.
func Files(dir string, most int) (int, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	files, err := walk(root, most)
	return len(files), err
}
