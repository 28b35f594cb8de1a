// Debezium's embedded engine takes a first snapshot, follows the log, and keeps its place and the tables' definitions in
// files; this program rebuilds every table from the rows that the engine shows.
//
// What to follow and where comes from the environment; `testing/followers/src/readers.rs` says what each variable means.

import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;

public class Reader {
    private static final Map<String, String> ENV = System.getenv();

    // Tables as a follower has them: by `id` where the first column is called so, else how often each row is there.
    private static Map<String, Map<String, Deque<String>>> tables = new HashMap<>();
    private static boolean marked = false;
    private static final CountDownLatch ENDED = new CountDownLatch(1);
    private static String failure = null;

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private static String hex(String text) {
        return hex(text.getBytes(StandardCharsets.UTF_8));
    }

    // The digits of a fraction that the column has.
    private static int digits(Schema schema, int otherwise) {
        String length = schema.parameters() == null ? null : schema.parameters().get("__debezium.source.column.length");
        return length == null ? otherwise : Integer.parseInt(length);
    }

    private static String fraction(long micros, int digits) {
        return digits == 0 ? "" : "." + String.format("%06d", micros).substring(0, digits);
    }

    private static String moment(long micros, int digits) {
        Instant at = Instant.ofEpochSecond(Math.floorDiv(micros, 1_000_000L));
        String seconds = DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss").format(at.atOffset(ZoneOffset.UTC));
        return seconds + fraction(Math.floorMod(micros, 1_000_000L), digits);
    }

    private static String time(long micros, int digits) {
        long positive = Math.abs(micros);
        long seconds = positive / 1_000_000L;
        String text = String.format("%02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
        return (micros < 0 ? "-" : "") + text + fraction(positive % 1_000_000L, digits);
    }

    private static String bits(byte[] littleEndian) {
        byte[] bytes = littleEndian.clone();
        for (int i = 0; i < bytes.length / 2; i++) {
            byte other = bytes[i];
            bytes[i] = bytes[bytes.length - 1 - i];
            bytes[bytes.length - 1 - i] = other;
        }
        return new BigInteger(1, bytes).toString();
    }

    // A value in the words that all readers' programs agree on.
    private static String text(Schema schema, Object value) {
        if (value == null) return "NULL";
        switch (schema.name() == null ? "" : schema.name()) {
            case "io.debezium.time.Date": return LocalDate.ofEpochDay((Integer) value).toString();
            case "io.debezium.time.MicroTime": return time((Long) value, digits(schema, 0));
            case "io.debezium.time.Timestamp": return moment((Long) value * 1000, digits(schema, 0));
            case "io.debezium.time.MicroTimestamp": return moment((Long) value, digits(schema, 6));
            case "io.debezium.time.ZonedTimestamp": {
                Instant at = OffsetDateTime.parse((String) value).toInstant();
                return moment(at.getEpochSecond() * 1_000_000L + at.getNano() / 1000, digits(schema, 0));
            }
            case "io.debezium.data.Bits": return bits((byte[]) value);
            default:
        }
        if (value instanceof BigDecimal number) return number.toPlainString();
        if (value instanceof Boolean is) return is ? "1" : "0";
        if (value instanceof byte[] bytes) return hex(bytes);
        if (value instanceof ByteBuffer buffer) {
            byte[] bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            return hex(bytes);
        }
        return value instanceof String string ? hex(string) : value.toString();
    }

    private static String line(Struct row) {
        List<String> cells = new ArrayList<>();
        for (Field field : row.schema().fields()) cells.add(text(field.schema(), row.get(field)));
        return String.join("\t", cells);
    }

    private static String key(Struct row, String line) {
        boolean byId = row.schema().fields().get(0).name().equals("id");
        return byId ? line.split("\t", 2)[0] : line;
    }

    private static void insert(String table, Struct row) {
        String line = line(row);
        String key = key(row, line);
        Deque<String> same = tables.computeIfAbsent(table, t -> new HashMap<>()).computeIfAbsent(key, k -> new ArrayDeque<>());
        if (!same.isEmpty() && row.schema().fields().get(0).name().equals("id"))
            throw new IllegalStateException(table + ": row " + key + " was there before it was inserted");
        same.push(line);
    }

    private static void remove(String table, Struct row) {
        String line = line(row);
        String key = key(row, line);
        Map<String, Deque<String>> rows = tables.getOrDefault(table, Map.of());
        if (!rows.containsKey(key)) throw new IllegalStateException(table + ": row " + line + " is not there");
        rows.get(key).pop();
        if (rows.get(key).isEmpty()) rows.remove(key);
    }

    private static final String NAME = "((?:`(?:[^`]|``)+`|\\w+)(?:\\.(?:`(?:[^`]|``)+`|\\w+))?)";
    private static final Pattern PART = Pattern.compile("`(?:[^`]|``)+`|\\w+");
    private static final Pattern DROP = statement("DROP\\s+TABLE\\s+(?:IF\\s+EXISTS\\s+)?" + NAME);
    private static final Pattern RENAME = statement("RENAME\\s+TABLE\\s+" + NAME + "\\s+TO\\s+" + NAME);
    private static final Pattern DROP_SCHEMA = statement("DROP\\s+(?:DATABASE|SCHEMA)\\s+(?:IF\\s+EXISTS\\s+)?" + NAME);

    private static Pattern statement(String text) {
        return Pattern.compile("^\\s*" + text, Pattern.CASE_INSENSITIVE);
    }

    private static String full(String name, String schema) {
        List<String> parts = new ArrayList<>();
        for (Matcher m = PART.matcher(name); m.find(); ) {
            String part = m.group();
            parts.add(part.charAt(0) == '`' ? part.substring(1, part.length() - 1).replace("``", "`") : part);
        }
        return parts.size() == 2 ? String.join(".", parts) : schema + "." + parts.get(0);
    }

    // Does what a statement does to whole tables. A snapshot tells its definitions, too, DROP .. IF EXISTS first.
    private static void definition(String schema, String ddl) {
        Matcher found;
        if ((found = RENAME.matcher(ddl)).find()) {
            var rows = tables.remove(full(found.group(1), schema));
            if (rows != null) tables.put(full(found.group(2), schema), rows);
        } else if ((found = DROP.matcher(ddl)).find()) {
            tables.remove(full(found.group(1), schema));
        } else if ((found = DROP_SCHEMA.matcher(ddl)).find()) {
            String gone = full(found.group(1), "").substring(1) + ".";
            tables.keySet().removeIf(table -> table.startsWith(gone));
        }
    }

    private static void change(SourceRecord record) {
        if (!(record.value() instanceof Struct value)) return;
        if (value.schema().field("ddl") != null) {
            if (value.getString("ddl") != null) definition(value.getString("databaseName"), value.getString("ddl"));
            return;
        }
        if (value.schema().field("op") == null) return;
        Struct source = value.getStruct("source");
        String table = source.getString("db") + "." + source.getString("table");
        String op = value.getString("op");
        if (op.equals("t")) tables.remove(table);
        if (op.equals("u") || op.equals("d")) remove(table, value.getStruct("before"));
        if (op.equals("u") || op.equals("c") || op.equals("r")) insert(table, value.getStruct("after"));
        marked |= op.equals("c") && table.equals("cdc.marks")
            && value.getStruct("after").get("id").toString().equals(ENV.get("READER_MARK"));
    }

    private static void batch(
            List<RecordChangeEvent<SourceRecord>> records,
            DebeziumEngine.RecordCommitter<RecordChangeEvent<SourceRecord>> committer) throws InterruptedException {
        for (RecordChangeEvent<SourceRecord> record : records) {
            // What follows the mark is for the next run.
            if (marked) break;
            change(record.record());
            committer.markProcessed(record);
        }
        committer.markBatchFinished();
        if (marked) ENDED.countDown();
    }

    private static Properties properties(Path state) {
        Properties p = new Properties();
        p.setProperty("name", "reader");
        p.setProperty("connector.class", "io.debezium.connector.mysql.MySqlConnector");
        p.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        p.setProperty("offset.storage.file.filename", state + ".offsets");
        p.setProperty("offset.flush.interval.ms", "1000");
        p.setProperty("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory");
        p.setProperty("schema.history.internal.file.filename", state + ".history");
        p.setProperty("topic.prefix", "reader");
        p.setProperty("database.hostname", "127.0.0.1");
        p.setProperty("database.port", ENV.get("READER_PORT"));
        p.setProperty("database.user", ENV.get("READER_USER"));
        p.setProperty("database.password", ENV.get("READER_PASSWORD"));
        p.setProperty("database.server.id", ENV.get("READER_SERVER_ID"));
        // Without it TLS is preferred, which is Debezium's own choice.
        if (ENV.containsKey("READER_TLS")) p.setProperty("database.ssl.mode", "required");
        // TRUNCATE is told like other changes, and columns with the digits of their definitions.
        p.setProperty("skipped.operations", "none");
        p.setProperty("column.propagate.source.type", ".*");
        ENV.forEach((name, value) -> {
            if (name.startsWith("READER_SET_")) p.setProperty(name.substring(11).replace("__", "."), value);
        });
        return p;
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        Path state = Path.of(ENV.get("READER_STATE"));
        if (Files.exists(state)) {
            try (ObjectInputStream in = new ObjectInputStream(Files.newInputStream(state))) {
                tables = (Map<String, Map<String, Deque<String>>>) in.readObject();
            }
        }
        DebeziumEngine<RecordChangeEvent<SourceRecord>> engine = DebeziumEngine.create(ChangeEventFormat.of(Connect.class))
            .using(properties(state))
            .notifying(Reader::batch)
            .using((success, message, error) -> {
                if (!success) failure = message + " " + error;
                if (error != null) error.printStackTrace();
                ENDED.countDown();
            })
            .build();
        ExecutorService threads = Executors.newSingleThreadExecutor();
        threads.execute(engine);
        ENDED.await();
        if (marked) engine.close();
        threads.shutdown();
        if (!marked) {
            System.err.println("Debezium ended: " + failure);
            System.exit(1);
        }
        try (ObjectOutputStream out = new ObjectOutputStream(Files.newOutputStream(state))) {
            out.writeObject(tables);
        }
        List<String> lines = new ArrayList<>();
        tables.forEach((table, rows) -> rows.values().forEach(same -> same.forEach(line -> lines.add(table + "\t" + line))));
        Files.write(Path.of(ENV.get("READER_OUT")), lines);
        System.out.println("ok " + lines.size() + " rows");
        System.exit(0);
    }
}
