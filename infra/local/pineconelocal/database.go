package pineconelocal

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"
)

// databaseName is the file of an index in its folder. It has one bucket for each namespace, and in it the records by
// id, each as the client's message Vector.
const databaseName = "pinecone.db"

// openTimeout is how long to wait for another process that still holds the file.
const openTimeout = time.Second

// open reads the database in dir, or makes one. From then on the index saves its writes there.
func (x *index) open(dir string) error {
	db, err := bbolt.Open(filepath.Join(dir, databaseName), 0o600, &bbolt.Options{Timeout: openTimeout})
	if err != nil {
		return err
	}
	if err := db.View(x.load); err != nil {
		return errors.Join(err, db.Close())
	}
	x.database = db
	return nil
}

func (x *index) close() error {
	if x.database == nil {
		return nil
	}
	return x.database.Close()
}

func (x *index) load(tx *bbolt.Tx) error {
	return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
		ns := &namespace{}
		x.namespaces[string(name)] = ns
		return bucket.ForEach(func(id, value []byte) error {
			r, err := decodeRecord(value)
			if err == nil {
				err = checkDimension(len(r.values), x.dimension)
			}
			if err != nil {
				return fmt.Errorf("load record %q of namespace %q: %w", id, name, err)
			}
			x.dimension = len(r.values)
			ns.records = append(ns.records, r) // bbolt orders keys as the index orders ids
			return nil
		})
	})
}

// save writes a change to the database in one transaction. Without a database it does nothing.
func (x *index) save(c change) error {
	if x.database == nil {
		return nil
	}
	return x.database.Update(func(tx *bbolt.Tx) error {
		name := []byte(c.namespace)
		if c.drop {
			return tx.DeleteBucket(name)
		}
		bucket, err := tx.CreateBucketIfNotExists(name)
		if err != nil {
			return err
		}
		return saveRecords(bucket, c)
	})
}

func saveRecords(bucket *bbolt.Bucket, c change) error {
	for _, r := range c.puts {
		m := newMessage("Vector")
		r.write(m, true, true)
		value, err := proto.Marshal(m.Interface())
		if err != nil {
			return err
		}
		if err := bucket.Put([]byte(r.id), value); err != nil {
			return err
		}
	}
	for _, id := range c.removes {
		if err := bucket.Delete([]byte(id)); err != nil {
			return err
		}
	}
	return nil
}

func decodeRecord(value []byte) (*record, error) {
	m := newMessage("Vector")
	if err := proto.Unmarshal(value, m.Interface()); err != nil {
		return nil, err
	}
	return readRecord(m)
}
