/** Zarr v2 as n5-zarr writes and reads it. */

import com.google.gson.JsonObject;
import java.nio.ByteOrder;
import org.apache.commons.lang3.ArrayUtils;
import org.janelia.saalfeldlab.n5.DatasetAttributes;
import org.janelia.saalfeldlab.n5.N5Writer;
import org.janelia.saalfeldlab.n5.zarr.DType;
import org.janelia.saalfeldlab.n5.zarr.N5ZarrWriter;
import org.janelia.saalfeldlab.n5.zarr.ZarrDatasetAttributes;

public final class Zarr2 implements Peer.Format {
    @Override
    public N5Writer open(JsonObject command) {
        return new N5ZarrWriter(command.get("store").getAsString());
    }

    @Override
    public DatasetAttributes dataset(JsonObject command) {
        return new ZarrDatasetAttributes(
                Peer.longs(command, "dimensions"),
                Peer.ints(command, "block_size"),
                new DType(command.get("dtype").getAsString(), java.util.Collections.emptyList()),
                Peer.compression(command),
                command.get("order").getAsString().equals("C"),
                command.get("fill_value").isJsonNull() ? null : command.get("fill_value").getAsString(),
                command.get("separator").getAsString());
    }

    @Override
    public byte[] missing(DatasetAttributes dataset) {
        byte[] bytes = ((ZarrDatasetAttributes) dataset).getFillBytes().clone();
        if (((ZarrDatasetAttributes) dataset).getDType().getOrder() == ByteOrder.LITTLE_ENDIAN)
            ArrayUtils.reverse(bytes);
        return bytes;
    }
}
