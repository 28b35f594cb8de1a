//! Replication as SHOW sees it: this server has replicas, and no source.

use crate::listing::{Listing, cells, text, uint};
use crate::session::Context;
use crate::variables::ids;

/// SHOW REPLICAS: those that have introduced themselves.
pub(super) fn replicas(cx: &Context) -> Listing {
    let mut out = Listing::new([
        uint("Server_Id"),
        text("Host", 255),
        uint("Port"),
        uint("Source_Id"),
        text("Replica_UUID", 36),
    ]);
    let source_id = cx.instance.globals().uint(ids::SERVER_ID);
    for replica in cx.instance.replicas().registered() {
        let (id, port) = (u64::from(replica.server_id), u64::from(replica.port));
        out.push(cells![id, replica.host, port, source_id, replica.uuid]);
    }
    out
}

/// SHOW REPLICA STATUS: no row, as of a server that is no replica.
pub(super) fn replica_status() -> Listing {
    const NAMES: [&str; 60] = [
        "Replica_IO_State",
        "Source_Host",
        "Source_User",
        "Source_Port",
        "Connect_Retry",
        "Source_Log_File",
        "Read_Source_Log_Pos",
        "Relay_Log_File",
        "Relay_Log_Pos",
        "Relay_Source_Log_File",
        "Replica_IO_Running",
        "Replica_SQL_Running",
        "Replicate_Do_DB",
        "Replicate_Ignore_DB",
        "Replicate_Do_Table",
        "Replicate_Ignore_Table",
        "Replicate_Wild_Do_Table",
        "Replicate_Wild_Ignore_Table",
        "Last_Errno",
        "Last_Error",
        "Skip_Counter",
        "Exec_Source_Log_Pos",
        "Relay_Log_Space",
        "Until_Condition",
        "Until_Log_File",
        "Until_Log_Pos",
        "Source_SSL_Allowed",
        "Source_SSL_CA_File",
        "Source_SSL_CA_Path",
        "Source_SSL_Cert",
        "Source_SSL_Cipher",
        "Source_SSL_Key",
        "Seconds_Behind_Source",
        "Source_SSL_Verify_Server_Cert",
        "Last_IO_Errno",
        "Last_IO_Error",
        "Last_SQL_Errno",
        "Last_SQL_Error",
        "Replicate_Ignore_Server_Ids",
        "Source_Server_Id",
        "Source_UUID",
        "Source_Info_File",
        "SQL_Delay",
        "SQL_Remaining_Delay",
        "Replica_SQL_Running_State",
        "Source_Retry_Count",
        "Source_Bind",
        "Last_IO_Error_Timestamp",
        "Last_SQL_Error_Timestamp",
        "Source_SSL_Crl",
        "Source_SSL_Crlpath",
        "Retrieved_Gtid_Set",
        "Executed_Gtid_Set",
        "Auto_Position",
        "Replicate_Rewrite_DB",
        "Channel_Name",
        "Source_TLS_Version",
        "Source_public_key_path",
        "Get_Source_public_key",
        "Network_Namespace",
    ];
    Listing::new(NAMES.map(|name| text(name, 255)))
}
