package nativeinspect

import (
	"bytes"
	"context"
)

// loaded is a regular file that was read, parsed and hashed once.
type loaded struct {
	stamp
	digest  Digest
	object  *object      // ELF
	image   *image       // Mach-O
	wrapper *declaration // ELF: the supported form of makeBinaryWrapper
	content []byte       // of a record; else nil
}

// kind says what a file is read as.
type kind int

const (
	asProgram kind = iota // ELF or Mach-O, as the platform wants
	asData                // only hashed
	asRecord              // hashed, and its content kept
)

const hashBufferBytes = 128 << 10 // small enough to stay in a core's cache

// load reads a file. source holds no link. A file is read once, however many paths
// lead to it.
func (in *inspector) load(ctx context.Context, source string, as kind) (*loaded, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key := loadKey{source, as}
	if l := in.loads[key]; l != nil {
		return l, nil
	}
	f, err := openRegular(source)
	if err != nil {
		return nil, err
	}
	defer f.close()
	if f.setID() {
		return nil, because(ReasonSetID)
	}
	bound := in.limits.FileBytes
	if as == asRecord {
		bound = MaxRecordBytes
	}
	if f.size > bound || f.size > in.budget {
		return nil, because(ReasonTooLarge)
	}
	in.budget -= f.size
	l := &loaded{stamp: f.stamp}
	switch as {
	case asProgram:
		err = in.readProgram(f, l)
	case asRecord:
		l.content, err = f.at(0, f.size)
	}
	if err != nil {
		return nil, err
	}
	if in.buffer == nil {
		in.buffer = make([]byte, hashBufferBytes)
	}
	if l.digest, err = f.hash(ctx, in.buffer); err != nil {
		return nil, err
	}
	in.loads[key] = l
	return l, nil
}

type loadKey struct {
	source string
	as     kind
}

// readProgram parses the file as the platform's format.
func (in *inspector) readProgram(f *opened, l *loaded) error {
	start, err := f.at(0, min(4, f.size))
	if err != nil {
		return err
	}
	if script(start) {
		return in.scriptFault(f)
	}
	if in.platform.darwin() {
		l.image, err = readMachO(f, in.platform)
	} else {
		l.object, err = readELF(f)
	}
	if err != nil {
		return err
	}
	if f.size > maxWrapperBytes {
		return nil
	}
	whole, err := f.at(0, f.size)
	if err != nil {
		return err
	}
	l.wrapper, err = readWrapper(whole)
	if err == nil && l.wrapper != nil && in.platform.darwin() {
		err = because(ReasonWrapperForm)
	}
	return err
}

// scriptFault says which manager's shim a script is, to name what helps. The mark is
// looked for in the first 4 KiB; nothing is interpreted.
func (in *inspector) scriptFault(f *opened) error {
	head, err := f.at(0, min(elfHeadBytes, f.size))
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	refused := because(ReasonScript)
	switch {
	case bytes.Contains(head, []byte("asdf-plugin:")), bytes.Contains(head, []byte("asdf exec")):
		refused.reason, refused.manager = ReasonShim, ManagerAsdf
	case bytes.Contains(head, []byte("mise exec")), bytes.Contains(head, []byte("mise x ")):
		refused.reason, refused.manager = ReasonShim, ManagerMise
	case bytes.Contains(line, []byte("node")):
		refused.manager = ManagerNode
	}
	return refused
}
