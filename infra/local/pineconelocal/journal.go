package pineconelocal

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/types/known/anypb"
)

// journalName is the file of an index in its folder: the requests that wrote, one after the other.
const journalName = "writes"

// journal keeps the requests that wrote to an index.
type journal struct{ *os.File }

// openJournal opens the journal in a folder, or makes one, and has its requests repeated. Of a request whose writing a
// crash has cut off there was no answer: it is removed.
func openJournal(dir string, repeat func(in message) error) (*journal, error) {
	file, err := os.OpenFile(filepath.Join(dir, journalName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	end, err := readJournal(file, repeat)
	if err == nil {
		err = file.Truncate(end)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &journal{file}, nil
}

// readJournal returns where the last whole request ends.
func readJournal(file *os.File, repeat func(in message) error) (end int64, err error) {
	in := bufio.NewReader(file)
	for {
		var kept anypb.Any
		err := protodelim.UnmarshalFrom(in, &kept)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		request, err := kept.UnmarshalNew()
		if err != nil {
			return 0, err
		}
		if err := repeat(message{request.ProtoReflect()}); err != nil {
			return 0, err
		}
		read, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return 0, err
		}
		end = read - int64(in.Buffered())
	}
}

// add keeps a request.
func (j *journal) add(in message) error {
	kept, err := anypb.New(in.Interface())
	if err == nil {
		_, err = protodelim.MarshalTo(j, kept)
	}
	return err
}
