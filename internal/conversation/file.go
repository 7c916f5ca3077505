package conversation

import (
	"cmp"
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A file's bytes stay in the app's own store. The message has where they are, and a text that stands for them.

// The most characters that the fields of a file have.
const (
	maxURLChars = 4096
	maxRefChars = 1024
	maxAltChars = 4096
)

// fileProblem says what is wrong with the fields of a file. It is empty for other parts.
func (p Part) fileProblem() (field, message string) {
	if p.Type != FilePart {
		return "", ""
	}
	for _, f := range []struct {
		name, value string
		most        int
	}{
		{"mediaType", p.MediaType, MaxPartNameChars},
		{"filename", p.Filename, MaxPartNameChars},
		{"url", p.URL, maxURLChars},
		{"dataRef", p.DataRef, maxRefChars},
		{"alt", p.Alt, maxAltChars},
	} {
		if strings.HasPrefix(strings.ToLower(f.value), "data:") && f.name != "alt" {
			return f.name, "must not hold the file itself: keep the bytes in the app's own store, and send their address " +
				"as url or their name as dataRef"
		}
		if utf8.RuneCountInString(f.value) > f.most || !utf8.ValidString(f.value) {
			return f.name, fmt.Sprintf("must be at most %d characters of valid UTF-8", f.most)
		}
	}
	kind, _, err := mime.ParseMediaType(p.MediaType)
	if err != nil || !strings.Contains(kind, "/") {
		return "mediaType", "must be a media type, as in image/png"
	}
	if (p.URL == "") == (p.DataRef == "") {
		return "url", "is needed, or else dataRef: one of the two"
	}
	if p.URL != "" && !isWebAddress(p.URL) {
		return "url", "must be an address by https"
	}
	return "", ""
}

// IsFetchable reports whether a part is a file at an address that may still be read. A presigned address of S3 says in
// its query until when.
func (p Part) IsFetchable(at time.Time) bool {
	u, err := url.Parse(p.URL)
	if p.URL == "" || err != nil {
		return false
	}
	signed, err := time.Parse("20060102T150405Z", u.Query().Get("X-Amz-Date"))
	seconds, invalid := strconv.Atoi(u.Query().Get("X-Amz-Expires"))
	return err != nil || invalid != nil || at.Before(signed.Add(time.Duration(seconds)*time.Second))
}

func isWebAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != ""
}

// FilesOf returns where the app keeps the files of parts.
func FilesOf(parts []Part) (files []string) {
	for _, p := range parts {
		if p.Type == FilePart {
			files = append(files, cmp.Or(p.DataRef, p.URL))
		}
	}
	return files
}

// fileText is what stands for a file where only text is read, as in [image: knee X-ray, left].
func (p Part) fileText() string {
	kind, _, _ := strings.Cut(strings.ToLower(p.MediaType), "/")
	switch kind {
	case "image", "audio", "video":
	default:
		kind = "file"
	}
	return "[" + kind + ": " + cmp.Or(p.Alt, p.Filename, p.MediaType) + "]"
}
