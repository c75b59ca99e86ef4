package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/magi-jig/magi-jig/wirev2"
)

// kept is what must not be lost between two runs. It holds a secret, so its file is for its owner alone.
type kept struct {
	Instance  wirev2.ID               `json:"instance"`
	Session   wirev2.ID               `json:"session"`
	Executor  wirev2.ID               `json:"executor"`
	Proof     string                  `json:"proof"`
	Operation wirev2.ID               `json:"operation"` // of the turn.start
	Calls     map[wirev2.ID]*keptCall `json:"calls"`
}

// keptCall is a call that was begun. Outcome is nil until the tool has acted.
type keptCall struct {
	Outcome *wirev2.Outcome `json:"outcome"`
}

func load(file string) (kept, error) {
	k := kept{Calls: make(map[wirev2.ID]*keptCall)}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	return k, json.Unmarshal(text, &k, json.RejectUnknownMembers(true))
}

// save replaces the file as a whole, and returns when it would survive a loss of power.
func (k *kept) save(file string) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".companion-*") // made 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	folder, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
