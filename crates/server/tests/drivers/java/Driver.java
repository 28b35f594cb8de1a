// Connector/J: text protocol and server-side prepared statements, cursors, TLS, compression.

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;

public class Driver {
    static final String[][] TYPES = {
        {"TINYINT", "127", "-128"},
        {"TINYINT UNSIGNED", "255", "0"},
        {"SMALLINT", "32767", "-32768"},
        {"MEDIUMINT", "8388607", "-8388608"},
        {"INT", "2147483647", "-2147483648"},
        {"INT UNSIGNED", "4294967295", "0"},
        {"BIGINT", "9223372036854775807", "-9223372036854775808"},
        {"BIGINT UNSIGNED", "18446744073709551615", "0"},
        {"DECIMAL(30,10)", "12345678901234567890.0123456789", "-0.5000000000"},
        {"FLOAT", "1.5", "-0.25"},
        {"DOUBLE", "2.5", "-0.125"},
        {"CHAR(10)", "ten chars!", ""},
        {"VARCHAR(100)", "gr\u00f6\u00dfer als ascii: \u8a9e", "quote ' and \\"},
        {"TEXT", "text\nwith lines", ""},
        {"DATE", "9999-12-31", "1000-01-01"},
        {"DATETIME(6)", "9999-12-31 23:59:59.999999", "1000-01-01 00:00:00.000001"},
        {"TIME", "23:59:58", "00:00:01"},
        {"DECIMAL(65,30)", "9".repeat(35) + "." + "9".repeat(30), "-" + "9".repeat(35) + "." + "9".repeat(30)},
        {"DECIMAL(65,0)", "9".repeat(65), "-" + "9".repeat(65)},
        {"ENUM('a','gr\u00f6\u00dfer','c d')", "gr\u00f6\u00dfer", "a"},
        {"SET('x','y','z')", "x,z", ""},
        {"JSON", "{\"a\": [1, 2.5, null], \"\u00f6\": \"\\\"quoted\\\"\"}", "-7"},
        {"TIME(6)", "23:59:59.999999", "00:00:00.000001"},
        {"YEAR", "2155", "1901"},
    };

    static Connection connect(String... options) throws SQLException {
        Properties all = new Properties();
        all.put("user", System.getenv("DRIVER_USER"));
        all.put("password", System.getenv("DRIVER_PASSWORD"));
        all.put("sslMode", "DISABLED");
        all.put("allowPublicKeyRetrieval", "true");
        all.put("connectionTimeZone", "UTC");
        for (String option : options) {
            String[] parts = option.split("=", 2);
            all.put(parts[0], parts[1]);
        }
        String schema = System.getenv("DRIVER_SCHEMA");
        return DriverManager.getConnection(
            "jdbc:mysql://127.0.0.1:" + System.getenv("DRIVER_PORT") + "/" + schema, all);
    }

    static void equal(Object found, Object expected, String what) {
        if (found == null ? expected != null : !found.equals(expected)) {
            throw new AssertionError(what + ": found " + found + ", expected " + expected);
        }
    }

    interface Run {
        void run() throws SQLException;
    }

    static void fails(int number, Run run) {
        try {
            run.run();
        } catch (SQLException e) {
            equal(e.getErrorCode(), number, "error number of " + e);
            return;
        }
        throw new AssertionError("no error " + number);
    }

    static void execute(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.execute(sql);
        }
    }

    static void types(Connection c, String what) throws SQLException {
        List<String> columns = new ArrayList<>(), names = new ArrayList<>(), marks = new ArrayList<>();
        for (int i = 0; i < TYPES.length; i++) {
            names.add("c" + i);
            columns.add("c" + i + " " + TYPES[i][0]);
            marks.add("?");
        }
        execute(c, "DROP TABLE IF EXISTS java_types");
        execute(c, "CREATE TABLE java_types (id INT AUTO_INCREMENT PRIMARY KEY, " + String.join(", ", columns) + ")");
        String list = String.join(", ", names);
        String insert = "INSERT INTO java_types (" + list + ") VALUES (" + String.join(", ", marks) + ")";
        try (PreparedStatement s = c.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            for (int row = 1; row <= 3; row++) {
                for (int i = 0; i < TYPES.length; i++) {
                    s.setString(i + 1, row == 3 ? null : TYPES[i][row]);
                }
                equal(s.executeUpdate(), 1, what + " affected");
                ResultSet keys = s.getGeneratedKeys();
                keys.next();
                equal(keys.getInt(1), row, what + " generated key");
            }
        }
        try (PreparedStatement s = c.prepareStatement("SELECT " + list + " FROM java_types WHERE id = ?")) {
            for (int row = 1; row <= 3; row++) {
                s.setInt(1, row);
                ResultSet found = s.executeQuery();
                equal(found.next(), true, what + " row");
                for (int i = 0; i < TYPES.length; i++) {
                    String expected = row == 3 ? null : TYPES[i][row];
                    equal(found.getString(i + 1), expected, what + " " + TYPES[i][0]);
                }
                if (row == 1) {
                    equal(found.getLong(7), Long.MAX_VALUE, "long");
                    equal(found.getBigDecimal(9), new BigDecimal(TYPES[8][1]), "decimal");
                }
            }
        }
    }

    /// What Java's own types do not hold is read as text or as bytes.
    static void edges(Connection c) throws SQLException {
        execute(c, "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'");
        execute(c, "DROP TABLE IF EXISTS java_edges");
        execute(c, "CREATE TABLE java_edges (a BIT(64), b BIT(1), t TIME(6), d DATE, m DATETIME(3), y YEAR)");
        String insert = "INSERT INTO java_edges VALUES (?, ?, ?, ?, ?, ?)";
        byte[] bits = {-1, -2, -3, -4, -5, -6, -7, -128};
        try (PreparedStatement s = c.prepareStatement(insert)) {
            s.setBytes(1, bits);
            s.setBoolean(2, true);
            s.setString(3, "-838:59:58.999999");
            s.setString(4, "0000-00-00");
            s.setString(5, "2024-02-00 01:02:03.450");
            s.setString(6, "0000");
            equal(s.executeUpdate(), 1, "affected");
        }
        String select = "SELECT a, b, CAST(t AS CHAR), CAST(d AS CHAR), CAST(m AS CHAR), d, y + 0 FROM java_edges WHERE ?";
        try (PreparedStatement s = c.prepareStatement(select)) {
            s.setInt(1, 1);
            ResultSet found = s.executeQuery();
            found.next();
            equal(Arrays.equals(found.getBytes(1), bits), true, "BIT(64)");
            equal(found.getBoolean(2), true, "BIT(1)");
            equal(found.getObject(2), true, "BIT(1) as an object");
            equal(found.getString(3), "-838:59:58.999999", "negative TIME");
            equal(found.getString(4), "0000-00-00", "zero DATE");
            equal(found.getString(5), "2024-02-00 01:02:03.450", "DATETIME without a day");
            equal(found.getObject(6), null, "zero DATE as an object");
            equal(found.getInt(7), 0, "YEAR");
        }
    }

    static void again(Connection c) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("SELECT ? + 1, ?, ?, ?")) {
            for (int i = 0; i < 50; i++) {
                s.setInt(1, i);
                s.setString(2, "text " + i);
                s.setTimestamp(3, java.sql.Timestamp.valueOf("2024-02-29 01:02:03.5"));
                s.setNull(4, java.sql.Types.INTEGER);
                ResultSet found = s.executeQuery();
                found.next();
                equal(found.getInt(1), i + 1, "sum");
                equal(found.getString(2), "text " + i, "text");
                equal(found.getTimestamp(3), java.sql.Timestamp.valueOf("2024-02-29 01:02:03.5"), "moment");
                equal(found.getObject(4), null, "null");
            }
        }
    }

    static void big(Connection c) throws SQLException {
        byte[] blob = new byte[17 << 20];
        for (int i = 0; i < blob.length; i++) {
            blob[i] = (byte) (i * 7);
        }
        execute(c, "DROP TABLE IF EXISTS java_big");
        execute(c, "CREATE TABLE java_big (id INT PRIMARY KEY, b LONGBLOB)");
        try (PreparedStatement s = c.prepareStatement("INSERT INTO java_big VALUES (1, ?)")) {
            s.setBytes(1, blob);
            s.executeUpdate();
        }
        // Sent in pieces (COM_STMT_SEND_LONG_DATA) where the statement is the server's.
        try (PreparedStatement s = c.prepareStatement("INSERT INTO java_big VALUES (2, ?)")) {
            s.setBinaryStream(1, new java.io.ByteArrayInputStream(blob), blob.length);
            s.executeUpdate();
        }
        try (PreparedStatement s = c.prepareStatement("SELECT b FROM java_big ORDER BY id")) {
            ResultSet found = s.executeQuery();
            for (int row = 0; row < 2; row++) {
                found.next();
                equal(Arrays.equals(found.getBytes(1), blob), true, "a packet of 17 MiB, unchanged");
            }
        }
    }

    static void transactions(Connection c) throws SQLException {
        execute(c, "DROP TABLE IF EXISTS java_t");
        execute(c, "CREATE TABLE java_t (id INT PRIMARY KEY)");
        c.setAutoCommit(false);
        c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        execute(c, "INSERT INTO java_t VALUES (1)");
        c.rollback();
        execute(c, "INSERT INTO java_t VALUES (2)");
        java.sql.Savepoint savepoint = c.setSavepoint("s");
        execute(c, "INSERT INTO java_t VALUES (3)");
        c.rollback(savepoint);
        c.commit();
        c.setAutoCommit(true);
        try (Statement s = c.createStatement()) {
            ResultSet found = s.executeQuery("SELECT COUNT(*), MAX(id) FROM java_t");
            found.next();
            equal(found.getInt(1), 1, "rows");
            equal(found.getInt(2), 2, "id");
        }
        fails(1062, () -> execute(c, "INSERT INTO java_t VALUES (2)"));
        fails(1146, () -> execute(c, "SELECT * FROM missing"));
        fails(1146, () -> c.prepareStatement("SELECT * FROM missing").executeQuery());
        fails(1064, () -> execute(c, "SELEKT 1"));
    }

    static void cursor() throws SQLException {
        try (Connection c = connect("useCursorFetch=true", "useServerPrepStmts=true")) {
            execute(c, "DROP TABLE IF EXISTS java_c");
            execute(c, "CREATE TABLE java_c (id INT PRIMARY KEY)");
            try (PreparedStatement s = c.prepareStatement("INSERT INTO java_c VALUES (?)")) {
                for (int i = 0; i < 100; i++) {
                    s.setInt(1, i);
                    s.addBatch();
                }
                s.executeBatch();
            }
            try (PreparedStatement s = c.prepareStatement("SELECT id FROM java_c WHERE id >= ? ORDER BY id")) {
                s.setFetchSize(7);
                s.setInt(1, 10);
                ResultSet found = s.executeQuery();
                for (int i = 10; i < 100; i++) {
                    equal(found.next(), true, "fetched");
                    equal(found.getInt(1), i, "fetched");
                }
                equal(found.next(), false, "the end");
            }
        }
    }

    public static void main(String[] args) throws Exception {
        for (String server : new String[] {"false", "true"}) {
            try (Connection c = connect("useServerPrepStmts=" + server, "zeroDateTimeBehavior=CONVERT_TO_NULL", "yearIsDateType=false")) {
                types(c, "server-side " + server);
                edges(c);
                again(c);
                big(c);
                transactions(c);
            }
        }
        cursor();
        try (Connection c = connect("allowMultiQueries=true"); Statement s = c.createStatement()) {
            s.execute("SELECT 1; SELECT 'two'; DO 0");
            s.getMoreResults();
            ResultSet second = s.getResultSet();
            second.next();
            equal(second.getString(1), "two", "the second result");
        }
        String ca = System.getenv("DRIVER_TRUST_STORE");
        try (Connection c = connect("sslMode=VERIFY_CA", "trustCertificateKeyStoreUrl=file:" + ca,
                "trustCertificateKeyStorePassword=changeit"); Statement s = c.createStatement()) {
            ResultSet found = s.executeQuery("SELECT CURRENT_USER()");
            found.next();
            equal(found.getString(1), System.getenv("DRIVER_USER") + "@localhost", "user");
        }
        try (Connection c = connect("useCompression=true", "useServerPrepStmts=true", "yearIsDateType=false")) {
            types(c, "compressed");
            big(c);
        }
        List<Connection> all = new ArrayList<>();
        Set<Long> ids = new HashSet<>();
        for (int i = 0; i < 100; i++) {
            all.add(connect());
            try (Statement s = all.get(i).createStatement()) {
                ResultSet found = s.executeQuery("SELECT CONNECTION_ID()");
                found.next();
                ids.add(found.getLong(1));
            }
        }
        equal(ids.size(), 100, "connections");
        for (Connection c : all) {
            c.close();
        }
        fails(1045, () -> connect("password=wrong"));
        System.out.println("ok Connector/J " + com.mysql.cj.jdbc.NonRegisteringDriver.class.getPackage().getImplementationVersion());
    }
}
