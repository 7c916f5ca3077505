package pineconelocal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

const journalName = "pinecone.journal"

// journal is a file of the write requests that were accepted, in their order. Each is one frame: the length and the
// CRC-32 of the body, four bytes each, and the body, a google.protobuf.Any. A frame cut short by a crash is dropped.
type journal struct {
	file   *os.File
	size   int64 // of the whole frames
	frames int
}

const frameHeader = 8

// openJournal opens or makes the journal of a folder, and replays what is in it.
func openJournal(path string, replay func(request message) error) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f}
	if err := j.replay(replay); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// replay passes every whole frame on, and cuts off what follows them.
func (j *journal) replay(each func(request message) error) error {
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	for {
		body, err := j.next(info.Size())
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return j.truncate()
		}
		if err != nil {
			return err
		}
		if err := replayFrame(body, each); err != nil {
			return fmt.Errorf("replay frame %d: %w", j.frames, err)
		}
		j.size += int64(frameHeader + len(body))
		j.frames++
	}
}

// next reads the frame at size. It is io.ErrUnexpectedEOF when no whole one is left.
func (j *journal) next(fileSize int64) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := j.file.ReadAt(header[:], j.size); err != nil {
		return nil, unexpectedEOF(err)
	}
	n := int64(binary.BigEndian.Uint32(header[:4]))
	if n == 0 || j.size+frameHeader+n > fileSize { // a lost tail may read as zeros
		return nil, io.ErrUnexpectedEOF
	}
	body := make([]byte, n)
	if _, err := j.file.ReadAt(body, j.size+frameHeader); err != nil {
		return nil, unexpectedEOF(err)
	}
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(header[4:]) {
		return nil, io.ErrUnexpectedEOF
	}
	return body, nil
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func replayFrame(body []byte, each func(message) error) error {
	var packed anypb.Any
	if err := proto.Unmarshal(body, &packed); err != nil {
		return err
	}
	request, err := packed.UnmarshalNew()
	if err != nil {
		return err
	}
	return each(message{request.ProtoReflect()})
}

// append adds a request. After a failure the journal is as it was before.
func (j *journal) append(request message) error {
	frame, err := encodeFrame(request)
	if err != nil {
		return err
	}
	if _, err := j.file.WriteAt(frame, j.size); err != nil {
		return errors.Join(err, j.truncate())
	}
	j.size += int64(len(frame))
	j.frames++
	return nil
}

func encodeFrame(request message) ([]byte, error) {
	packed, err := anypb.New(request.Interface())
	if err != nil {
		return nil, err
	}
	frame, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, frameHeader), packed)
	if err != nil {
		return nil, err
	}
	body := frame[frameHeader:]
	binary.BigEndian.PutUint32(frame, uint32(len(body)))
	binary.BigEndian.PutUint32(frame[4:], crc32.ChecksumIEEE(body))
	return frame, nil
}

func (j *journal) truncate() error { return j.file.Truncate(j.size) }

func (j *journal) close() error { return j.file.Close() }

// rewriteJournal puts a journal of exactly these requests in the place of the one at path, all or nothing.
func rewriteJournal(path string, requests []message) (*journal, error) {
	f, err := os.CreateTemp(filepath.Dir(path), journalName+".*")
	if err != nil {
		return nil, err
	}
	j := &journal{file: f}
	for _, r := range requests {
		if err = j.append(r); err != nil {
			break
		}
	}
	if err == nil {
		err = errors.Join(f.Sync(), os.Rename(f.Name(), path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return j, nil
}
