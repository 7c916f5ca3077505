package summary_test

import (
	"testing"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.MainWithChecks(m, 8) }
