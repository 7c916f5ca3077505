package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteJSON writes a value to a file as indented JSON. It makes the file's folder if it is missing.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return WriteFile(path, append(text, '\n'))
}

// WriteFile writes a file. It makes the file's folder if it is missing.
func WriteFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// WriteSection replaces one section of a Markdown file, as Section does. A missing file begins with the heading.
func WriteSection(path, heading, name, body string) error {
	document, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		document, err = []byte(heading), nil
	}
	if err != nil {
		return fmt.Errorf("read document: %w", err)
	}
	text, err := Section(string(document), name, body)
	if err != nil {
		return err
	}
	return WriteFile(path, []byte(text))
}

// Section returns the document with body between the section's two marker comments. A document without the comments
// gets them at its end. So several benchmarks share one document, and the text around their sections is written by
// hand.
func Section(document, name, body string) (string, error) {
	begin, end := "<!-- begin "+name+" -->", "<!-- end "+name+" -->"
	section := begin + "\n" + strings.TrimSpace(body) + "\n" + end
	before, rest, found := strings.Cut(document, begin)
	if !found {
		return strings.TrimRight(document, "\n") + "\n\n" + section + "\n", nil
	}
	_, after, found := strings.Cut(rest, end)
	if !found {
		return "", fmt.Errorf("the document's section %q has no end", name)
	}
	return before + section + after, nil
}
